-- Lines of logs, counted as their bytes are stored. `counted_bytes` is less than `log_bytes` for a log to which a server of an
-- earlier version has appended: its lines are not known.
alter table step_runs
    add column counted_bytes bigint not null default 0,
    add column newlines bigint not null default 0,
    -- The position after the last newline.
    add column last_line_start bigint not null default 0;

alter table log_segments
    -- How many newlines of the log are before the first byte of the segment. Null: not counted.
    add column newlines_before bigint,
    -- For each position in the segment that is a multiple of 64 KiB: how many newlines of the log are before it, and when it was
    -- written, as pairs of number and millisecond.
    add column blocks bigint[] not null default '{}';
