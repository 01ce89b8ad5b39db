-- Forecasts say by which method they were made, and how good it was; a queue may have none.

alter table queue.metrics_forecast
    alter column forecast_at drop not null, -- these four are null where no method is better than "it stays as it is"
    alter column forecast drop not null,
    alter column forecast_low drop not null,
    alter column forecast_high drop not null,
    add column method text,                         -- docs/metrics.md names them
    add column reason text check (reason in ('too_little_past', 'no_method_beats_unchanged',
        'intervals_do_not_hold')), -- why there is none
    add column interval_level double precision,     -- 0.8: so many of such intervals should hold the actual depth
    add column interval_coverage double precision,  -- so many did, in the backtest
    add column mean_error double precision,         -- messages: the mean absolute error in the backtest
    add column unchanged_error double precision,    -- likewise, of "it stays as it is"
    add column backtests int,                       -- how many forecasts of the past were compared
    -- retention_seconds: until messages are deleted unread; fastest_rate, mean_rate: the best hour drains less than arrives
    add column warnings jsonb not null default '{}';
comment on column queue.metrics_forecast.arrival_rate is
    'Messages a second, over the last 15 complete minutes, or the life of a younger queue.';
