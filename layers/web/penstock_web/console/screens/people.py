"""Shows the account's keys, users and audit log."""

from typing import NamedTuple

from fastapi import Response

from penstock.access.users import BUILT_IN
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.management.access import ShownKey, ShownUser, list_keys, list_users
from penstock.management.rights import needs, right_of
from penstock.postgres.statements.access import LIST_AUDIT, AuditRow
from penstock_web.console.page import CurrentPage
from penstock_web.console.paging import cut_page
from penstock_web.console.responses import show_page
from penstock_web.console.screen import screen

AUDIT_PAGE = 100
LAST_ID = 2**63 - 1


class People(NamedTuple):
    """The account's users and keys."""

    users: list[ShownUser]
    keys: list[ShownKey]


def read_people(context: Context) -> Operation[People]:
    """Returns the keys and users of the caller's account."""
    users = yield from list_users(context)
    return People(users, (yield from list_keys(context)))


@screen("/console/keys", right=right_of(list_users, list_keys), title="Keys", position=80)
async def keys(page: CurrentPage) -> Response:
    """Shows users, and keys without their secrets."""
    found = await page.run(read_people(page.context))
    return show_page(page, "keys.html", found=found, built_in=BUILT_IN)


@needs("account", "penstock:ReadAudit")
def read_audit(before: int, context: Context) -> Operation[list[AuditRow]]:
    """Returns a page of the account's audit log. Returns one extra row if there is a next page."""
    return (yield from Call(LIST_AUDIT, (context.account_id, before or None, AUDIT_PAGE + 1)))


@screen("/console/audit", right=right_of(read_audit), title="Audit", position=90)
async def audit(page: CurrentPage) -> Response:
    """Shows the audit log from the newest to the oldest row."""
    before = page.query.read_number("before", 0, LAST_ID)
    rows = await page.run(read_audit(before, page.context))
    shown, more = cut_page(rows, AUDIT_PAGE)
    return show_page(page, "audit.html", rows=shown, more=more, before=before)
