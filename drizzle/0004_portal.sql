CREATE TABLE `discord_claims` (
	`chat_id` text NOT NULL,
	`product_id` integer NOT NULL,
	PRIMARY KEY(`chat_id`, `product_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `discord_interactions` (
	`id` text PRIMARY KEY NOT NULL,
	`handled_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `discord_interactions_handled` ON `discord_interactions` (`handled_at`);--> statement-breakpoint
CREATE TABLE `discord_roles` (
	`chat_id` text NOT NULL,
	`role_id` text NOT NULL,
	`due_at` integer NOT NULL,
	PRIMARY KEY(`chat_id`, `role_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `discord_roles_due` ON `discord_roles` (`due_at`);--> statement-breakpoint
CREATE TABLE `portal_codes` (
	`code_hash` text PRIMARY KEY NOT NULL,
	`customer_id` integer NOT NULL,
	`created_at` integer NOT NULL,
	`used_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `portal_codes_created` ON `portal_codes` (`created_at`);--> statement-breakpoint
CREATE TABLE `portal_sessions` (
	`session_hash` text PRIMARY KEY NOT NULL,
	`customer_id` integer NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `portal_sessions_created` ON `portal_sessions` (`created_at`);--> statement-breakpoint
CREATE TABLE `self_resets` (
	`license_id` integer NOT NULL,
	`reset_at` integer NOT NULL,
	PRIMARY KEY(`license_id`, `reset_at`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `settings` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `events` ADD `customer_id` integer;--> statement-breakpoint
ALTER TABLE `market_orders` ADD `expires_at` integer;--> statement-breakpoint
CREATE INDEX `market_orders_expiry` ON `market_orders` (`expires_at`) WHERE "market_orders"."expires_at" is not null;--> statement-breakpoint
ALTER TABLE `markets` ADD `comparison_due_at` integer;--> statement-breakpoint
ALTER TABLE `products` ADD `self_resets` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `purchases_market` ON `purchases` (`market_id`,`id`);--> statement-breakpoint
CREATE INDEX `purchases_unmatched` ON `purchases` (`id`) WHERE "purchases"."state" = 'UNMATCHED';