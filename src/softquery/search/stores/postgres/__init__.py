"""Indexes in PostgreSQL, with pgvector."""
