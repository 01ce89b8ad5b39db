"""Implements the console at /console. The server renders the pages. The console runs the same operations as the REST
API.

    console.py     adds the routes to an application
    screen.py      `@screen` declares a page, `@act` a form
    console_route.py  checks a request's host, origin, session and rights
    page.py        an admitted request
    forms.py       parameters of addresses, fields of forms
    paging.py      pages of lists
    responses.py   pages, redirections and errors
    sign_in.py     keys, sessions and cookies
    readings.py    results that all viewers of a process share
    rendering.py   templates and their filters, styles and scripts
    screens/       a module for each screen

The console imports Jinja2, which the Lambda functions for AWS's actions do not contain. The modules `application` and
`rest.lambda_function` therefore import the console only if the console is enabled.
"""
