"""Older schemas of records, a module each: their lines as the dataclasses of today's."""
