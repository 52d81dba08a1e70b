"""Interfaces of other packages, answered by the judges of this one."""
