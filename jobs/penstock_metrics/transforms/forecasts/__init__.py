"""Forecasts the backlog of a queue for the next hour, if a method was better than the forecast "no change" on the
queue's past.

    series      the past of a queue: depths every five minutes, and every hour for three weeks
    methods     the candidates: trends, and the values an hour, a day or a week before
    backtest    tests each candidate on every fifth minute of the last day
    intervals   80 % intervals from the errors of the backtest, and the share of intervals that contained the depth
    growth      warnings: messages reach the retention, or the consumers never catch up
    outlook     rates, the time to drain, forecast and warnings of a queue
    rows        the rows of queue.metrics_forecast

No function reads a clock or the database.
"""
