"""Indexes as a server shows them and takes them in: what each holds, and files that become one."""
