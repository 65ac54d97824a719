-- The audit by who, what, agent and tool, each newest first. They are read from the line itself, which is chained. A pattern, not
-- a cast to JSON: that would refuse a line in which somebody wrote the character 0. What it finds is still escaped as in JSON.
create index audit_by on adjourn.audit ((substring(body from '"by":"((?:[^"\\]|\\.)*)"')), at, scope, n)
    where scope <> '@security';
create index audit_kind on adjourn.audit ((coalesce(
    nullif(substring(body from '"verdict":"((?:[^"\\]|\\.)*)"'), ''), substring(body from '"verb":"((?:[^"\\]|\\.)*)"')
)), at, scope, n) where scope <> '@security';
create index audit_agent on adjourn.audit ((substring(body from '"agent":"((?:[^"\\]|\\.)*)"')), at, scope, n)
    where scope <> '@security';
create index audit_tool on adjourn.audit ((substring(body from '"tool":"((?:[^"\\]|\\.)*)"')), at, scope, n)
    where scope <> '@security';
