-- compatible-with: 38
-- When autovacuum comes to the large tables. Its defaults, a fifth of the table, mean 20,000,000 dead or new rows in a store with
-- 100,000,000 orders: rare runs that take hours, and indexes that grow meanwhile. The figures behind each line are in docs/decisions/0036.

-- Updated by every order and small. Room in each page keeps the updates out of the index (heap-only); it holds for pages written from now on.
alter table balances set (fillfactor = 80);

-- Every order is updated once, when it ends, and never heap-only: its status is part of two indexes. Not more often than this: each
-- run reads all indexes of the table, and below two percent PostgreSQL leaves the indexes out.
alter table orders set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
                        autovacuum_analyze_scale_factor = 0.02);

-- Never updated. Runs for new rows freeze them while they are still in memory, and let statements read from indexes alone.
alter table order_lines set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table transfers set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table link_fingerprints set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- Updated once, when the links are erased, oldest first.
alter table order_links set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02,
                             autovacuum_analyze_scale_factor = 0.02);

-- Each row is updated once and deleted once, never heap-only (encryption key and state are indexed), so there are as many dead rows as
-- events in a retention time. They hold one retention time only, so a run costs less than one of orders.
alter table events set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
                        autovacuum_analyze_scale_factor = 0.05);
alter table deliveries set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
                            autovacuum_analyze_scale_factor = 0.05);

-- Added and deleted after a time.
alter table delivery_attempts set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
alter table order_attempts set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
alter table link_reads set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Every link that is loaded is deleted when it is sold: after 200,000 sales of a pool of 200,000 all its rows are dead. By number, because
-- the table may be empty and large at once.
alter table pool_links set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 10000);

-- Nonces live for two minutes: every row dies. A run must keep up with the requests of a minute, so it does not pause.
alter table spent_nonces set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
