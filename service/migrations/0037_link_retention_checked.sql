-- compatible-with: 36
-- Checks the rows that were there before the constraint of 0036, without a lock that sales would wait for.
alter table order_links validate constraint order_links_erased;
