CREATE TABLE `discord_link_codes` (
	`customer_id` integer PRIMARY KEY NOT NULL,
	`code_hash` text NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `discord_link_codes_hash` ON `discord_link_codes` (`code_hash`);--> statement-breakpoint
CREATE TABLE `page_links` (
	`code_hash` text PRIMARY KEY NOT NULL,
	`customer_id` integer,
	`chat_id` text,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	CONSTRAINT "page_links_owner" CHECK(("page_links"."customer_id" is null) <> ("page_links"."chat_id" is null))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `page_links_expiry` ON `page_links` (`expires_at`);--> statement-breakpoint
CREATE TABLE `page_sessions` (
	`session_hash` text PRIMARY KEY NOT NULL,
	`customer_id` integer,
	`chat_id` text,
	`created_at` integer NOT NULL,
	CONSTRAINT "page_sessions_owner" CHECK(("page_sessions"."customer_id" is null) <> ("page_sessions"."chat_id" is null))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `page_sessions_created` ON `page_sessions` (`created_at`);