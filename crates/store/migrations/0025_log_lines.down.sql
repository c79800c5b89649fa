alter table log_segments drop column blocks, drop column newlines_before;
alter table step_runs drop column last_line_start, drop column newlines, drop column counted_bytes;
