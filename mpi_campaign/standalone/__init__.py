"""A case of a run as a C program in one file that needs nothing of this project: `campaign reproduce --standalone`."""
