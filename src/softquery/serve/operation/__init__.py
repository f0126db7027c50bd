"""What operators see and steer: signals, probes, reloads, allowances, traces, lines of the log."""
