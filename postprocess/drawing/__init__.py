"""The look of numbers, names, tables, pages and pictures, independent of what is measured."""
