ALTER TABLE `callers` ADD `kid` text;--> statement-breakpoint
ALTER TABLE `products` ADD `offline_days` integer DEFAULT 0 NOT NULL CONSTRAINT "products_offline_days" CHECK("offline_days" between 0 and 90);--> statement-breakpoint
CREATE INDEX `products_offline_days` ON `products` (`offline_days`) WHERE "products"."offline_days" > 0;
