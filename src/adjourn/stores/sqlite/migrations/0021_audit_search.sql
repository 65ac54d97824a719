-- The audit by who, what, agent and tool, each newest first. They are read from the line itself, which is chained.
create index audit_by on audit (body ->> '$.by', json_extract(body, '$.at'), scope, n) where scope <> '@security';
create index audit_kind on audit (
    coalesce(nullif(body ->> '$.verdict', ''), body ->> '$.verb'), json_extract(body, '$.at'), scope, n
) where scope <> '@security';
create index audit_agent on audit (body ->> '$.agent', json_extract(body, '$.at'), scope, n) where scope <> '@security';
create index audit_tool on audit (body ->> '$.tool', json_extract(body, '$.at'), scope, n) where scope <> '@security';
