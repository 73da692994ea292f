-- compatible-with: 36
-- Checks the rows that were there before the constraint of 0035, without a lock that sales would wait for.
alter table order_links validate constraint order_links_erased;
