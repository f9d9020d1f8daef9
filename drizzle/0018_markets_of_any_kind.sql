-- A new kind of market needs no migration any more. No table refers to this one. Ids of deleted markets stay unused.
CREATE TABLE `markets_of_any_kind` (
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
	`comparison_due_at` integer,
	`mails_key` integer,
	CONSTRAINT "markets_products" CHECK(json_valid("markets_of_any_kind"."products"))
);
--> statement-breakpoint
INSERT INTO `markets_of_any_kind`("id", "kind", "name", "is_enabled", "path", "products", "on_refund", "on_dispute", "settings", "secrets", "api_token", "reconciled_at", "failing_at", "created_at", "updated_at", "revision", "comparison_due_at", "mails_key") SELECT "id", "kind", "name", "is_enabled", "path", "products", "on_refund", "on_dispute", "settings", "secrets", "api_token", "reconciled_at", "failing_at", "created_at", "updated_at", "revision", "comparison_due_at", "mails_key" FROM `markets`;--> statement-breakpoint
DELETE FROM sqlite_sequence WHERE name = 'markets_of_any_kind';--> statement-breakpoint
INSERT INTO sqlite_sequence(name, seq) SELECT 'markets_of_any_kind', seq FROM sqlite_sequence WHERE name = 'markets';--> statement-breakpoint
DROP TABLE `markets`;--> statement-breakpoint
ALTER TABLE `markets_of_any_kind` RENAME TO `markets`;--> statement-breakpoint
CREATE UNIQUE INDEX `markets_path` ON `markets` (`path`);