DROP INDEX `products_offline_days`;--> statement-breakpoint
ALTER TABLE `products` ADD `check_after_hours` integer DEFAULT 24 NOT NULL;--> statement-breakpoint
ALTER TABLE `products` ADD `entitlements` text;--> statement-breakpoint
CREATE INDEX `products_policy` ON `products` (`id`,`offline_days`,`check_after_hours`,`entitlements`) WHERE ("products"."offline_days" > 0 or "products"."check_after_hours" <> 24 or "products"."entitlements" is not null);--> statement-breakpoint
ALTER TABLE `licenses` ADD `entitlements` text;--> statement-breakpoint
ALTER TABLE `licenses` ADD `entitlements_expire` text;