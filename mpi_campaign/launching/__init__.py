"""Programs that stand between ReFrame and a launch: a wire, nodes in a box, several launches into one record."""
