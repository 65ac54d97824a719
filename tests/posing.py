"""Texts in which something passes for something else, and texts in which nothing does: one table for both implementations.

Of each text the characters that must be marked, in order. The rest must not be.
"""

MARKED = {
    # Whole words of another script in a host, an address, a path, an identifier
    "ceo@аррӏе.com": "аррӏе", "сосо.com": "сосо", "https://сосо/х": "сосох", "send to ѕесure@bank.example now": "ѕес",
    "pay to раураӏ.com, please": "раураӏ", "ΑΒΕ.com": "ΑΒΕ", "ᎪᏴᏟ.com": "ᎪᏴᏟ", "ꓮꓐꓚ.com": "ꓮꓐꓚ", "օօ.com": "օօ", "user_сас": "сас",
    "/сору/х": "сорух", "./сору": "сору", "order А1": "А", "СЕ12": "СЕ", "ОК-1001": "ОК", "0х1f": "х", "paypal.сом": "сом",
    "Москва.com": "Москва", "почта@example.com": "почта", "login.ехаmple.org": "еха",
    # Wide letters and digits, and everything else that has another form
    "ｅｖｉｌ.com": "ｅｖｉｌ", "０x1F": "０", "１２７.０.０.１": "１２７００１", "a＠b.com": "＠", "evil。com": "。",
    "ｏｒｄｅｒ_１": "ｏｒｄｅｒ１",
    "ﬁle.txt": "ﬁ", "a².com": "²", "x①.com": "①", "𝐞𝐯𝐢𝐥": "𝐞𝐯𝐢𝐥", "ⓟay": "ⓟ", "ﬁne": "ﬁ", "\u212a1": "\u212a",
    "ｃａｌｌ（ｘ１）": "ｘ１", "№5.com": "№",
    # Signs that pass for those of an address
    "evil.com∕paypal.com": "∕", "https:⁄⁄evil.com": "⁄⁄", "host‐name.com": "‐",
    # As before: a letter of another script in a Latin word
    "pаypal": "а", "fｕll": "ｕ",
}  # fmt: skip

ORDINARY = [
    "Привет, мир! Это обычный текст, т.е. ничего особенного и т.д.", "г.Москва, ул. Ленина, д. 5, кв. 3а, 2-х комнатная",
    "Она сама хотела сахар, сор и ухо; а оса – нет.", "и/или, что-то, какой-нибудь, 5с, в 3х случаях", "пример.рф и почта", "№ 5, п. 3",
    "Το κείμενο και η ζωή, π.χ. αυτό, κ.ά. και αν", "Ωραία μέρα, ναι ή όχι;", "Ի՞նչ կա նոր այսօր", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
    "詳細はこちら。「東京」で、１２時から（ＡＢＣ社）。", "詳細はexample.comをご覧ください。",
    "我们明天见！价格：１００元。", "ㅋㅋㅋ 안녕하세요", "ｶﾀｶﾅ",
    "مرحبا بالعالم", "שלום עולם", "สวัสดีชาวโลก", "नमस्ते दुनिया", "Grüße aus Köln, naïve café, Łódź, Ångström",
    "m² and CO₂, 5 µg/ml, ½ cup, 25 ℃, 1º, Adjourn™", "wait…what? ADJOURN_SECRET=… user_na… A1… “photos 1–4” ✓",
    "Δt = 3 µm, π ≈ 3.14", "ISO-8859-1, order A1, /etc/passwd",
    "ceo@apple.com and http://example.com/a_b?c=1",
]  # fmt: skip
