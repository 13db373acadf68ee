"""A comparison as a page: one HTML file with its pictures, to be read without a network."""

from classwise.report.study import Study
from classwise.report.writing import report_html, write_report

__all__ = ["Study", "report_html", "write_report"]
