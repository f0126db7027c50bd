"""Models for softquery: every folder beside this file is one. Nothing here is ever imported."""
