CREATE TABLE `daily_rollups` (
	`bucket` integer NOT NULL,
	`product_id` integer NOT NULL,
	`outcome` integer NOT NULL,
	`requests` integer NOT NULL,
	PRIMARY KEY(`product_id`, `outcome`, `bucket`)
) WITHOUT ROWID;
