CREATE TABLE `grants` (
	`token_id` integer PRIMARY KEY NOT NULL,
	`consenter_hash` text NOT NULL,
	`client_hash` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`code_hash` text NOT NULL,
	`code_challenge` text NOT NULL,
	`code_expires_at` integer NOT NULL,
	`access_hash` text,
	`access_expires_at` integer,
	`refresh_hash` text,
	`used_refresh_hash` text,
	`refreshed_at` integer,
	FOREIGN KEY (`token_id`) REFERENCES `tokens`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
ALTER TABLE `tokens` ADD `client` text;