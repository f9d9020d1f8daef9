CREATE TABLE `market_deliveries` (
	`market_id` integer NOT NULL,
	`id` integer NOT NULL,
	`type` text,
	`event_id` text,
	`is_accepted` integer NOT NULL,
	`status` integer NOT NULL,
	`result` text NOT NULL,
	`body` text,
	PRIMARY KEY(`market_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `market_orders` (
	`market_id` integer NOT NULL,
	`order_id` text NOT NULL,
	`facts` text NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL,
	PRIMARY KEY(`market_id`, `order_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `markets` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`is_enabled` integer NOT NULL,
	`path` text NOT NULL,
	`products` text NOT NULL,
	`on_refund` text NOT NULL,
	`on_dispute` text NOT NULL,
	`settings` text,
	`secrets` text NOT NULL,
	`api_token` text,
	`reconciled_at` integer,
	`failing_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL,
	CONSTRAINT "markets_kind" CHECK("markets"."kind" in ('builtbybit', 'voxel', 'dynamic', 'tebex', 'stripe', 'paynow')),
	CONSTRAINT "markets_products" CHECK(json_valid("markets"."products"))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `markets_path` ON `markets` (`path`);--> statement-breakpoint
CREATE TABLE `purchases` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`market_id` integer NOT NULL,
	`item` text NOT NULL,
	`reference` text NOT NULL,
	`unit` integer NOT NULL,
	`order_id` text,
	`buyer_id` text,
	`buyer_name` text,
	`email` text,
	`quantity` integer NOT NULL,
	`is_test` integer NOT NULL,
	`state` text NOT NULL,
	`reason` text,
	`facts` text NOT NULL,
	`license_id` integer,
	`deactivated_revision` integer,
	`misses` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL,
	CONSTRAINT "purchases_state" CHECK("purchases"."state" in ('GRANTED', 'REVOKED', 'UNMATCHED'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `purchases_reference` ON `purchases` (`market_id`,`item`,`reference`,`unit`);--> statement-breakpoint
CREATE INDEX `purchases_order` ON `purchases` (`market_id`,`order_id`) WHERE "purchases"."order_id" is not null;--> statement-breakpoint
CREATE INDEX `purchases_license` ON `purchases` (`license_id`) WHERE "purchases"."license_id" is not null;
