CREATE TABLE `idempotency_keys` (
	`id` integer PRIMARY KEY NOT NULL,
	`token_id` integer NOT NULL,
	`key_hash` text NOT NULL,
	`request_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`customer_id` integer,
	`created` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `idempotency_keys_key` ON `idempotency_keys` (`token_id`,`key_hash`);