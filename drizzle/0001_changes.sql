CREATE TABLE `changes` (
	`subject` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`revision` integer NOT NULL,
	`published_revision` integer DEFAULT 0 NOT NULL,
	`published_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `changes_seq` ON `changes` (`seq`);
--> statement-breakpoint
INSERT INTO `changes` (`subject`, `seq`, `revision`) VALUES ('blacklist', 1, 1);
--> statement-breakpoint
CREATE TRIGGER `licenses_created` AFTER INSERT ON `licenses` BEGIN
	INSERT INTO `changes` (`subject`, `seq`, `revision`)
	SELECT 'license:' || new.`license_key_folded`, (SELECT ifnull(max(`seq`), 0) + 1 FROM `changes`), new.`revision`
	WHERE NOT EXISTS (SELECT 1 FROM `changes` WHERE `subject` = 'license:' || new.`license_key_folded`);
	UPDATE `licenses`
	SET `revision` = (SELECT `revision` + 1 FROM `changes` WHERE `subject` = 'license:' || new.`license_key_folded`)
	WHERE `id` = new.`id`
		AND new.`revision` < (SELECT `revision` FROM `changes` WHERE `subject` = 'license:' || new.`license_key_folded`);
END;
--> statement-breakpoint
CREATE TRIGGER `licenses_changed` AFTER UPDATE OF `revision` ON `licenses` BEGIN
	INSERT INTO `changes` (`subject`, `seq`, `revision`)
	VALUES ('license:' || new.`license_key_folded`, (SELECT ifnull(max(`seq`), 0) + 1 FROM `changes`), new.`revision`)
	ON CONFLICT (`subject`) DO UPDATE SET `seq` = excluded.`seq`, `revision` = excluded.`revision`;
END;
--> statement-breakpoint
CREATE TRIGGER `licenses_removed` AFTER DELETE ON `licenses` BEGIN
	INSERT INTO `changes` (`subject`, `seq`, `revision`)
	VALUES ('license:' || old.`license_key_folded`, (SELECT ifnull(max(`seq`), 0) + 1 FROM `changes`), old.`revision` + 1)
	ON CONFLICT (`subject`) DO UPDATE SET `seq` = excluded.`seq`, `revision` = excluded.`revision`;
END;
--> statement-breakpoint
CREATE TRIGGER `tokens_created` AFTER INSERT ON `tokens` BEGIN
	INSERT INTO `changes` (`subject`, `seq`, `revision`)
	VALUES ('token:' || new.`token_hash`, (SELECT ifnull(max(`seq`), 0) + 1 FROM `changes`), new.`revision`)
	ON CONFLICT (`subject`) DO UPDATE SET `seq` = excluded.`seq`, `revision` = excluded.`revision`;
END;
--> statement-breakpoint
CREATE TRIGGER `tokens_changed` AFTER UPDATE OF `revision` ON `tokens` BEGIN
	INSERT INTO `changes` (`subject`, `seq`, `revision`)
	VALUES ('token:' || new.`token_hash`, (SELECT ifnull(max(`seq`), 0) + 1 FROM `changes`), new.`revision`)
	ON CONFLICT (`subject`) DO UPDATE SET `seq` = excluded.`seq`, `revision` = excluded.`revision`;
END;
--> statement-breakpoint
CREATE TRIGGER `blacklists_created` AFTER INSERT ON `blacklists` BEGIN
	UPDATE `changes`
	SET `seq` = (SELECT max(`seq`) + 1 FROM `changes`), `revision` = `revision` + 1
	WHERE `subject` = 'blacklist';
END;
--> statement-breakpoint
CREATE TRIGGER `blacklists_changed` AFTER UPDATE OF `revision` ON `blacklists` BEGIN
	UPDATE `changes`
	SET `seq` = (SELECT max(`seq`) + 1 FROM `changes`), `revision` = `revision` + 1
	WHERE `subject` = 'blacklist';
END;
--> statement-breakpoint
CREATE TRIGGER `blacklists_removed` AFTER DELETE ON `blacklists` BEGIN
	UPDATE `changes`
	SET `seq` = (SELECT max(`seq`) + 1 FROM `changes`), `revision` = `revision` + 1
	WHERE `subject` = 'blacklist';
END;
