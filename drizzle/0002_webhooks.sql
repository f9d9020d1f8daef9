CREATE TABLE `alerts` (
	`license_id` integer NOT NULL,
	`type` text NOT NULL,
	`raised_at` integer NOT NULL,
	PRIMARY KEY(`license_id`, `type`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `deliveries` (
	`webhook_id` integer NOT NULL,
	`id` integer NOT NULL,
	`type` text NOT NULL,
	`attempts` integer NOT NULL,
	`step` integer NOT NULL,
	`next_at` integer,
	`lease_until` integer,
	`attempted_at` integer,
	`status` integer,
	`error` text,
	`response` text,
	`duration_ms` integer,
	PRIMARY KEY(`webhook_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`webhook_id`,`next_at`) WHERE "deliveries"."next_at" is not null;--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`url` text NOT NULL,
	`format` text NOT NULL,
	`types` text NOT NULL,
	`is_enabled` integer NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`secret` text NOT NULL,
	`previous_secret` text,
	`previous_secret_until` integer,
	`disabled_reason` text,
	`console_origin` text,
	`last_success_at` integer,
	`failing_since` integer,
	`paused_until` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer DEFAULT 1 NOT NULL,
	CONSTRAINT "webhooks_format" CHECK("webhooks"."format" in ('standard', 'discord')),
	CONSTRAINT "webhooks_types" CHECK(json_valid("webhooks"."types"))
);
--> statement-breakpoint
ALTER TABLE `events` ADD `actor` text;--> statement-breakpoint
CREATE INDEX `events_service` ON `events` (`id`) WHERE "events"."actor" is not null;