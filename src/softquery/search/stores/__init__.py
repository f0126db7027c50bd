"""Where the rows of an index lie: in folders, in PostgreSQL, in Milvus."""
