"""Tests of flowsched-gym; the folders mirror the package."""
