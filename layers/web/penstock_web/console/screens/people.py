"""Shows and changes the account's users and keys, and shows the audit log.

A change that takes the management of users and keys away from the user, or from everybody, asks first.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Final, NamedTuple

from fastapi import Response

from penstock.access.authorization import check_anywhere
from penstock.access.keys import is_user_name
from penstock.access.users import BUILT_IN, build_owner_arn, build_user_arn
from penstock.context import Context
from penstock.documents.times import parse_iso_time
from penstock.effects import Operation
from penstock.errors import AccessDenied, AwsError, InvalidParameterValue
from penstock.management import access
from penstock.management.access import MAX_POLICIES, NewKey, ShownKey, ShownUser, list_keys, list_users
from penstock.management.administrators import AccessChange, find_losses
from penstock.management.errors import KeyNotFound, UserNotFound
from penstock.management.rights import SIGNED_IN, authorize, right_of, show
from penstock.settings import SettingError
from penstock_web.console.forms import FieldProblem, Form
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.paging import cut_page
from penstock_web.console.rendering import segment
from penstock_web.console.responses import ACCEPTED, Refusal, redirect, show_page
from penstock_web.console.screen import act, screen
from penstock_web.console.snippets import key_snippet
from penstock_web.routing.errors import status_and_code

AUDIT_PAGE = 100
LAST_ID = 2**63 - 1
ACCOUNT: Final = "(account)"
"""The choice of the account itself as a key's owner. No user can have this name."""
Problems = dict[str, FieldProblem]


class People(NamedTuple):
    """The account's users and keys."""

    users: list[ShownUser]
    keys: list[ShownKey]


def read_people(context: Context) -> Operation[People]:
    """Returns the keys and users of the caller's account."""
    users = yield from list_users(context)
    return People(users, (yield from list_keys(context)))


# --- pages -----------------------------------------------------------------------------------------------------------
@screen("/console/keys", right=right_of(list_users, list_keys), title="Keys", position=80)
async def keys(page: CurrentPage) -> Response:
    """Shows users, and keys without their secrets."""
    found = await page.run(read_people(page.context))
    return show_page(
        page, "keys.html", found=found, built_in=BUILT_IN, done=page.query.get("done", ""),
        access_is_on=is_access_on(page.context), may_set=page.may_ever("penstock:SetUser"),
        may_create=page.may_ever("penstock:CreateKey") and bool(found.users or may_create_for_account(page)),
    )  # fmt: skip


def may_create_for_account(page: Page) -> bool:
    """Returns whether the viewer can create keys with all rights of the account."""
    arn = build_owner_arn(None, page.context.account_id)
    return page.context.caller.principal.is_root and page.may("penstock:CreateKey", arn)


@screen("/console/users-new", right=SIGNED_IN, title="New user")
async def new_user(page: CurrentPage) -> Response:
    """Shows the form of a new user to a viewer who can create any user."""
    check_anywhere("penstock", "SetUser", page.context)
    return show_new_user(page, ACCEPTED)


def show_new_user(page: Page, refusal: Refusal) -> Response:
    """Shows the form of a new user with what the viewer has typed."""
    return show_page(
        page, "user_form.html", refusal.status, title="New user", form=page.form, problems=refusal.problems,
        policies=page.form.get_all("policy"), documents=read_documents(page), access_is_on=is_access_on(page.context),
    )  # fmt: skip


@screen("/console/keys-new", right=SIGNED_IN, title="New key")
async def new_key(page: CurrentPage) -> Response:
    """Shows the form of a new key to a viewer who can create any key. The URL can name the key's user."""
    check_anywhere("penstock", "CreateKey", page.context)
    return await show_new_key(page, {"user": page.query.get("user", "")}, ACCEPTED)


async def show_new_key(page: Page, values: Mapping[str, str], refusal: Refusal) -> Response:
    """Shows the form of a new key with what the viewer has typed. A viewer who cannot list users types the name."""
    users = [user.name for user in await page.run(show(list_users(page.context))) or ()]
    owners = {"": "choose…", **dict(zip(users, users, strict=True))}
    if may_create_for_account(page):
        owners[ACCOUNT] = "the account itself, with every right"
    return show_page(
        page, "key_form.html", refusal.status, title="New key", form=Form.filled(values), problems=refusal.problems,
        owners=owners if users or len(owners) > 1 else {}, access_is_on=is_access_on(page.context),
    )  # fmt: skip


@screen("/console/users/{user}", right=right_of(list_users, list_keys))
async def user(user: str, page: CurrentPage) -> Response:
    """Shows a user's policies and keys."""
    return await show_user(user, page)


async def show_user(name: str, page: Page, error: AwsError | None = None) -> Response:
    """Shows a user. If `error` is given, shows the refused policies instead of the stored policies."""
    found = await page.run(read_people(page.context))
    shown = next((each for each in found.users if each.name == name), None)
    if shown is None:
        raise UserNotFound
    arn = build_user_arn(page.context.account_id, name)
    given = shown.policies if error is None else [*page.form.get_all("policy"), *read_documents(page)]
    return show_page(
        page, "user.html", 200 if error is None else status_and_code(type(error))[0], title=name, user=shown,
        keys=[key for key in found.keys if key.user == name], built_in=BUILT_IN,
        policies=[policy for policy in given if policy in BUILT_IN],
        documents=[policy for policy in given if policy not in BUILT_IN],
        problems={} if error is None else describe(error, "document"), done=page.query.get("done", ""),
        access_is_on=is_access_on(page.context), may_set=page.may("penstock:SetUser", arn),
        may_end=page.may("penstock:EndUser", arn), may_create=page.may("penstock:CreateKey", arn),
    )  # fmt: skip


@screen("/console/keys/{key}", right=right_of(list_users, list_keys))
async def key(key: str, page: CurrentPage) -> Response:
    """Shows a key without its secret."""
    shown = await find_key(key, page)
    arn = build_owner_arn(shown.user, page.context.account_id)
    is_own = shown.user is not None or page.context.caller.principal.is_root
    return show_page(
        page, "key.html", title=f"Key {key}", key=shown, done=page.query.get("done", ""),
        is_current=shown.id == page.context.key_id, access_is_on=is_access_on(page.context),
        may_limit=is_own and page.may("penstock:LimitKey", arn),
        may_revoke=is_own and page.may("penstock:RevokeKey", arn),
    )  # fmt: skip


async def find_key(key_id: str, page: Page) -> ShownKey:
    """Returns a key of the account. Raises KeyNotFound."""
    found = await page.run(list_keys(page.context))
    for each in found:
        if each.id == key_id:
            return each
    raise KeyNotFound


def describe(error: AwsError, field: str) -> Problems:
    """Returns an error at a field. A missing right belongs to the whole page, which then may not show the field."""
    return {"" if isinstance(error, AccessDenied) else field: FieldProblem(error.message)}


def refuse(error: AwsError, field: str) -> Refusal:
    return Refusal(status_and_code(type(error))[0], describe(error, field))


def is_access_on(context: Context) -> bool:
    """Returns whether the service requires keys. Otherwise it refuses to change users and keys."""
    return context.environment.settings.queue_access == "sigv4"


# --- users -----------------------------------------------------------------------------------------------------------
@act("/console/users", right=right_of(access.set_user))
async def create_user(page: CurrentPage) -> Response:
    """Creates a user with policies. Refuses the name of an existing user, whose policies the form would replace."""
    name, field = page.form.get("name").strip(), "name"
    try:
        await page.run(authorize(right_of(access.set_user), (name,), page.context))
        if any(each.name == name for each in await page.run(list_users(page.context))):
            raise InvalidParameterValue(f"There is already a user {name}.")
        field = "document" if is_user_name(name) else "name"
        await page.act(access.set_user(name, read_policies(page), page.context))
    except AwsError as error:
        return show_new_user(page, refuse(error, field))
    return redirect(f"/console/users/{segment(name)}?done=user_created")


@act("/console/users/{user}/policies", right=right_of(access.set_user))
async def set_policies(user: str, page: CurrentPage) -> Response:
    """Replaces a user's policies."""
    policies = read_policies(page)
    if all(each.name != user for each in await page.run(list_users(page.context))):
        raise UserNotFound
    change = AccessChange(user=user, policies=policies)
    try:
        access.check_policies(policies)
        if (asking := await ask_first(change, "Change the policies", page)) is not None:
            return asking
        await page.act(access.set_user(user, policies, page.context))
    except AwsError as error:
        return await show_user(user, page, error)
    return redirect(f"/console/users/{segment(user)}?done=policies_set")


@act("/console/users/{user}/end", right=right_of(access.end_user))
async def end_user(user: str, page: CurrentPage) -> Response:
    """Revokes a user's keys and deletes the user. The viewer must type the user's name."""
    page.check_typed(user, "changed the user")
    if (asking := await ask_first(AccessChange(user=user), f"End {user}", page)) is not None:
        return asking
    await page.act(access.end_user(user, page.context))
    return redirect("/console/keys?done=user_ended")


def read_policies(page: Page) -> list[str]:
    """Returns the chosen built-in policies and the written documents."""
    chosen = [policy for policy in page.form.get_all("policy") if policy in BUILT_IN]
    return [*dict.fromkeys(chosen), *read_documents(page)]


def read_documents(page: Page) -> list[str]:
    """Returns the policy documents of the form."""
    texts = (text.replace("\r\n", "\n").strip() for text in page.form.get_all("document")[: MAX_POLICIES + 1])
    return [text for text in texts if text]


# --- keys ------------------------------------------------------------------------------------------------------------
@act("/console/keys", right=right_of(access.create_key))
async def create_key(page: CurrentPage) -> Response:
    """Creates a key, and shows its secret on this page only. The page is not stored, and no URL leads to it."""
    values = {name: page.form.get(name).strip() for name in ("user", "kind", "description", "expires")}
    try:
        if not values["user"]:
            raise InvalidParameterValue("Choose the user of the key.")
        owner = None if values["user"] == ACCOUNT else values["user"]
        new = NewKey(values["kind"] == "bearer", owner, values["description"], read_expiry(values["expires"]))
        if len(new.description) > 256:
            raise InvalidParameterValue("A description has at most 256 characters.")
        made = await page.act(access.create_key(new, page.context))
    except SettingError as error:
        return await show_new_key(page, values, refuse(InvalidParameterValue(str(error)), "kind"))
    except AwsError as error:
        field = "expires" if "expires" in error.message else "user"
        return await show_new_key(page, values, refuse(error, field))
    return show_page(
        page, "key_made.html", title="New key", key_id=made.id, owner=owner, is_bearer=new.bearer,
        snippet=key_snippet(made, page.context),
    )  # fmt: skip


@act("/console/keys/{key}/limit", right=right_of(access.limit_key))
async def limit_key(key: str, page: CurrentPage) -> Response:
    """Sets or removes a key's expiry."""
    expires_at = read_expiry(page.form.get("expires").strip())
    if expires_at is not None and (asking := await ask_first(AccessChange(key), "Set the expiry", page)) is not None:
        return asking
    await page.act(access.limit_key(key, expires_at, page.context))
    return redirect(f"/console/keys/{segment(key)}?done=limited")


@act("/console/keys/{key}/revoke", right=right_of(access.revoke_key))
async def revoke_key(key: str, page: CurrentPage) -> Response:
    """Revokes a key."""
    if (asking := await ask_first(AccessChange(key), "Revoke the key", page)) is not None:
        return asking
    await page.act(access.revoke_key(key, page.context))
    return redirect(f"/console/keys/{segment(key)}?done=revoked")


def read_expiry(text: str) -> datetime | None:
    """Returns the beginning of a day in UTC, or None for an empty text. Raises InvalidParameterValue."""
    if not text:
        return None
    try:
        return datetime.combine(parse_iso_time(text).date(), time(), UTC)
    except ValueError:
        raise InvalidParameterValue(f"expires: {text[:40]!r} is not a day such as 2030-01-31") from None


async def ask_first(change: AccessChange, button: str, page: Page) -> Response | None:
    """Returns a page that asks whether to make a change that ends access, or None if there is nothing to ask. The page
    repeats the form's fields, none of which is secret."""
    if page.form.get("confirmed") == "yes" or not is_access_on(page.context):
        return None
    losses = await page.run(find_losses(change, page.context))
    if not losses:
        return None
    names = ("policy", "document", "expires", "typed")
    fields = [(name, text) for name in names for text in page.form.get_all(name)]
    return show_page(page, "confirm.html", 409, title="Are you sure?", losses=losses, fields=fields, button=button)


# --- audit -----------------------------------------------------------------------------------------------------------
@screen("/console/audit", right=right_of(access.read_audit), title="Audit", position=90)
async def audit(page: CurrentPage) -> Response:
    """Shows the audit log from the newest to the oldest row."""
    before = page.query.read_number("before", 0, LAST_ID)
    rows = await page.run(access.read_audit(before or None, AUDIT_PAGE + 1, page.context))
    shown, more = cut_page(rows, AUDIT_PAGE)
    return show_page(page, "audit.html", rows=shown, more=more, before=before)
