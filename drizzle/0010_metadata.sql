ALTER TABLE `customers` ADD `metadata` text;--> statement-breakpoint
ALTER TABLE `licenses` ADD `metadata` text;