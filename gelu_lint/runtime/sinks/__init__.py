"""Where the values of a GeluMonitor go. Any callable (step, values) is a sink; these are for what others log with."""
