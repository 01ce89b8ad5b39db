-- Holds the number 0013 until its migration is merged.
select 1;
