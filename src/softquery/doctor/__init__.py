"""What is installed, on which machine, how fast it is, and what to do about what is not well."""

from softquery.doctor.advice import Advice, advise
from softquery.doctor.examination import Examination, examine
from softquery.doctor.installation import Installation, find_installation
from softquery.doctor.machine import Machine, find_machine
from softquery.doctor.speed import Speed, measure_speed

__all__ = [
    "Advice",
    "Examination",
    "Installation",
    "Machine",
    "Speed",
    "advise",
    "examine",
    "find_installation",
    "find_machine",
    "measure_speed",
]
