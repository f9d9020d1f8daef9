CREATE TABLE `replaced_keys` (
	`license_key_normalized` text PRIMARY KEY NOT NULL,
	`license_id` integer NOT NULL,
	`replaced_at` integer NOT NULL,
	FOREIGN KEY (`license_id`) REFERENCES `licenses`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `replaced_keys_license` ON `replaced_keys` (`license_id`);--> statement-breakpoint
ALTER TABLE `bindings` ADD `used_at` integer;--> statement-breakpoint
ALTER TABLE `licenses` ADD `expires_after_days` integer;--> statement-breakpoint
ALTER TABLE `products` ADD `ip_idle_days` integer;--> statement-breakpoint
ALTER TABLE `products` ADD `hwid_idle_days` integer;--> statement-breakpoint
ALTER TABLE `products` ADD `default_expires_after_days` integer;