CREATE TABLE `daily_counts` (
	`day` integer NOT NULL,
	`kind` text NOT NULL,
	`product_id` integer NOT NULL,
	`label` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`day`, `kind`, `product_id`, `label`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`id` integer PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`token_id` integer,
	`is_console` integer NOT NULL,
	`ip` text,
	`resource_type` text NOT NULL,
	`resource_id` integer,
	`changes` text
);
--> statement-breakpoint
CREATE INDEX `events_resource` ON `events` (`resource_type`,`resource_id`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`session_hash` text PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `licenses_expiry` ON `licenses` (`expires_at`) WHERE "licenses"."expires_at" is not null;
