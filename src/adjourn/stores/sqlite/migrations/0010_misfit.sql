create table misfit (
    run integer primary key,
    seq integer not null,
    body text not null
) strict;
