"""What people look at: report, live page, plots."""
