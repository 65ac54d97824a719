create index audit_time on audit (json_extract(body, '$.at'), scope, n);
