"""How well this project measures: numbers, pictures, a page; the stop rules of other suites."""
