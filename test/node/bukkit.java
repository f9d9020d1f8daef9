/*
 * As much of Spigot and Folia as the guard of the examples meets, with their faults. Each package line begins a file. The
 * lines with GlobalRegionScheduler in the interface of the server are Folia's. The classes behind the interfaces are not
 * public, like some of a real server: only the methods of the interfaces can be called.
 */
package org.bukkit;

public interface Server {
    org.bukkit.plugin.PluginManager getPluginManager();
    org.bukkit.scheduler.BukkitScheduler getScheduler();
    io.papermc.paper.threadedregions.scheduler.GlobalRegionScheduler getGlobalRegionScheduler();
}

package org.bukkit.scheduler;

public interface BukkitTask {}

package org.bukkit.scheduler;

public abstract class BukkitRunnable implements Runnable {}

package org.bukkit.scheduler;

import java.util.function.Consumer;
import org.bukkit.plugin.Plugin;

public interface BukkitScheduler {
    BukkitTask runTask(Plugin plugin, BukkitRunnable task);
    void runTask(Plugin plugin, Consumer<? super BukkitTask> task);
    BukkitTask runTask(Plugin plugin, Runnable task);
}

package io.papermc.paper.threadedregions.scheduler;

public interface ScheduledTask {}

package io.papermc.paper.threadedregions.scheduler;

public interface GlobalRegionScheduler {
    void execute(org.bukkit.plugin.Plugin plugin, Runnable task);
    ScheduledTask run(org.bukkit.plugin.Plugin plugin, java.util.function.Consumer<ScheduledTask> task);
}

package org.bukkit.command;

public interface CommandSender {
    void sendMessage(String message);
    void sendMessage(String... messages);
}

package org.bukkit.command;

public interface CommandExecutor {
    boolean onCommand(CommandSender sender, Command command, String label, String[] args);
}

package org.bukkit.command;

public interface TabCompleter {
    java.util.List<String> onTabComplete(CommandSender sender, Command command, String alias, String[] args);
}

package org.bukkit.command;

public abstract class Command {
    public abstract boolean execute(CommandSender sender, String label, String[] args);
}

package org.bukkit.command;

public class CommandException extends RuntimeException {
    public CommandException(String message, Throwable cause) {
        super(message, cause);
    }
}

package org.bukkit.command;

import org.bukkit.plugin.Plugin;

public final class PluginCommand extends Command {
    private final Plugin owner;
    private CommandExecutor executor;
    private TabCompleter completer;

    PluginCommand(Plugin owner) {
        this.owner = owner;
        this.executor = owner;
    }

    public CommandExecutor getExecutor() {
        return executor;
    }

    public void setExecutor(CommandExecutor executor) {
        this.executor = executor == null ? owner : executor;
    }

    public TabCompleter getTabCompleter() {
        return completer;
    }

    public void setTabCompleter(TabCompleter completer) {
        this.completer = completer;
    }

    public java.util.List<String> tabComplete(CommandSender sender, String alias, String[] args) {
        java.util.List<String> words = null;
        if (completer != null) words = completer.onTabComplete(sender, this, alias, args);
        if (words == null && executor instanceof TabCompleter) {
            words = ((TabCompleter) executor).onTabComplete(sender, this, alias, args);
        }
        return words == null ? java.util.Arrays.asList("names", "of", "players") : words;
    }

    @Override
    public boolean execute(CommandSender sender, String label, String[] args) {
        if (!owner.isEnabled()) throw new CommandException("The plugin is disabled", null);
        try {
            return executor.onCommand(sender, this, label, args);
        } catch (Throwable problem) {
            throw new CommandException("Unhandled exception", problem);
        }
    }
}

package org.bukkit.command;

public final class PluginCommandYamlParser {
    public static PluginCommand parse(org.bukkit.plugin.Plugin owner) {
        return new PluginCommand(owner);
    }
}

package org.bukkit.configuration.file;

public interface FileConfiguration {
    String getString(String path);
}

package org.bukkit.plugin;

public class IllegalPluginAccessException extends RuntimeException {
    public IllegalPluginAccessException(String message) {
        super(message);
    }
}

package org.bukkit.plugin;

public interface Plugin extends org.bukkit.command.CommandExecutor, org.bukkit.command.TabCompleter {
    org.bukkit.Server getServer();
    java.util.logging.Logger getLogger();
    boolean isEnabled();
    void onEnable();
    void onDisable();
}

package org.bukkit.plugin;

public interface PluginManager {
    void disablePlugin(Plugin plugin);
    void disablePlugin(Plugin plugin, boolean closesLoader);
}

package org.bukkit.plugin.java;

import java.io.File;
import java.util.logging.Logger;
import org.bukkit.Server;
import org.bukkit.command.*;
import org.bukkit.configuration.file.FileConfiguration;
import org.bukkit.plugin.Plugin;

public abstract class JavaPlugin implements Plugin {
    private final PluginCommand shop = PluginCommandYamlParser.parse(this);
    private Server server;
    private Logger logger;
    private File dataFolder;
    private FileConfiguration config;
    private volatile boolean isEnabled;

    public final void init(Server server, Logger logger, File dataFolder, FileConfiguration config) {
        this.server = server;
        this.logger = logger;
        this.dataFolder = dataFolder;
        this.config = config;
    }

    public final Server getServer() {
        return server;
    }

    public Logger getLogger() {
        return logger;
    }

    public final File getDataFolder() {
        return dataFolder;
    }

    public FileConfiguration getConfig() {
        return config;
    }

    /** In plugin.yml there is one command. */
    public PluginCommand getCommand(String name) {
        return name.equals("shop") ? shop : null;
    }

    public final boolean isEnabled() {
        return isEnabled;
    }

    public final void setEnabled(boolean enabled) {
        if (isEnabled == enabled) return;
        isEnabled = enabled;
        if (enabled) onEnable();
        else onDisable();
    }

    public void onEnable() {}

    public void onDisable() {}

    public boolean onCommand(CommandSender sender, Command command, String label, String[] args) {
        return false;
    }

    public java.util.List<String> onTabComplete(CommandSender sender, Command command, String alias, String[] args) {
        return null;
    }
}

package net.md_5.bungee.api.plugin;

public class Plugin {}

package org.bukkit.craftbukkit;

import io.papermc.paper.threadedregions.scheduler.*;
import java.util.concurrent.*;
import java.util.function.Consumer;
import org.bukkit.Server;
import org.bukkit.command.CommandSender;
import org.bukkit.plugin.*;
import org.bukkit.plugin.java.JavaPlugin;
import org.bukkit.scheduler.*;

/** A server of one plugin. Its main thread is in a group of its own, and so are the threads that it starts. */
class CraftServer implements Server {
    final String name;
    final ThreadGroup group;
    private final boolean isFolia;
    private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
    private final Thread main;

    CraftServer(String name, boolean isFolia) {
        this.name = name;
        this.isFolia = isFolia;
        group = new ThreadGroup(name);
        main = new Thread(group, this::tick, "Server thread");
        main.setDaemon(true);
        main.start();
    }

    private void tick() {
        while (true) {
            try {
                tasks.take().run();
            } catch (Throwable problem) {
                print("thrown", problem.toString());
            }
        }
    }

    void queue(Runnable task) {
        tasks.add(task);
    }

    boolean isPrimaryThread() {
        return Thread.currentThread() == main;
    }

    void requirePrimaryThread() {
        if (!isPrimaryThread()) throw new IllegalStateException("Only the main thread may do so");
    }

    void print(String kind, String text) {
        System.out.println(name + "|" + kind + "|" + text);
    }

    private void schedule(Plugin plugin, Runnable task) {
        if (!plugin.isEnabled()) {
            print("scheduled", "for a disabled plugin");
            throw new IllegalPluginAccessException("Plugin attempted to register task while disabled");
        }
        // The tasks of a plugin end with it.
        queue(() -> {
            if (plugin.isEnabled()) task.run();
        });
    }

    public PluginManager getPluginManager() {
        return new CraftPluginManager();
    }

    public BukkitScheduler getScheduler() {
        return new CraftScheduler();
    }

    public GlobalRegionScheduler getGlobalRegionScheduler() {
        return new FoliaScheduler();
    }

    private final class CraftPluginManager implements PluginManager {
        public void disablePlugin(Plugin plugin) {
            disablePlugin(plugin, true);
        }

        public void disablePlugin(Plugin plugin, boolean closesLoader) {
            requirePrimaryThread();
            if (!plugin.isEnabled()) return;
            ((JavaPlugin) plugin).setEnabled(false);
            print("server", "disabled");
        }
    }

    private final class CraftScheduler implements BukkitScheduler {
        public BukkitTask runTask(Plugin plugin, Runnable task) {
            if (isFolia) throw new UnsupportedOperationException();
            schedule(plugin, task);
            return new BukkitTask() {};
        }

        public BukkitTask runTask(Plugin plugin, BukkitRunnable task) {
            throw new UnsupportedOperationException("Use BukkitRunnable#runTask");
        }

        public void runTask(Plugin plugin, Consumer<? super BukkitTask> task) {
            runTask(plugin, () -> task.accept(null));
        }
    }

    private final class FoliaScheduler implements GlobalRegionScheduler {
        public void execute(Plugin plugin, Runnable task) {
            schedule(plugin, task);
        }

        public ScheduledTask run(Plugin plugin, Consumer<ScheduledTask> task) {
            schedule(plugin, () -> task.accept(null));
            return new ScheduledTask() {};
        }
    }
}

package org.bukkit.craftbukkit;

import java.io.*;
import java.util.*;
import java.util.logging.*;
import org.bukkit.command.CommandSender;
import org.bukkit.plugin.java.JavaPlugin;

/**
 * Reads lines of `server|verb|…`, each with a server of its own: `enable|CLASS|FOLDER|URL|KEYS`, `type|COMMAND`,
 * `complete|COMMAND`, `disable`,
 * and `settle`, which ends when the plugin has no thread and the server no task. Prints each event as `server|kind|text`.
 */
public final class Main {
    public static void main(String[] args) throws Exception {
        Map<String, CraftServer> servers = new HashMap<>();
        Map<String, JavaPlugin> plugins = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] part = line.split("[|]", -1);
            CraftServer server = servers.computeIfAbsent(part[0], name -> new CraftServer(name, args.length > 0));
            JavaPlugin plugin = plugins.get(part[0]);
            if (part[1].equals("enable")) {
                JavaPlugin made = (JavaPlugin) Class.forName("shop." + part[2]).getConstructor().newInstance();
                made.init(server, logger(server), new File(part[3]), path -> config(path, part));
                plugins.put(part[0], made);
                server.queue(() -> made.setEnabled(true));
            } else if (part[1].equals("type")) {
                server.queue(() -> type(server, plugin, part[2].split(" ")));
            } else if (part[1].equals("complete")) {
                String[] words = part[2].split(" ");
                server.queue(() -> server.print("completed", String.join(" ",
                    plugin.getCommand("shop").tabComplete(null, words[0], Arrays.copyOfRange(words, 1, words.length)))));
            } else if (part[1].equals("disable")) {
                server.queue(() -> server.getPluginManager().disablePlugin(plugin));
            } else {
                new Thread(() -> settle(server)).start();
            }
        }
    }

    private static String config(String path, String[] part) {
        return path.equals("url") ? part[4] : path.equals("keys") ? part[5] : "KEY";
    }

    private static Logger logger(CraftServer server) {
        Logger logger = Logger.getAnonymousLogger();
        logger.setUseParentHandlers(false);
        logger.addHandler(new StreamHandler() {
            @Override
            public void publish(LogRecord record) {
                String problem = record.getThrown() == null ? "" : " " + record.getThrown();
                server.print(record.getLevel().getName(), record.getMessage() + problem);
            }
        });
        return logger;
    }

    private static void type(CraftServer server, JavaPlugin plugin, String[] words) {
        CommandSender sender = new CommandSender() {
            public void sendMessage(String message) {
                server.requirePrimaryThread();
                server.print("said", message);
            }

            public void sendMessage(String... messages) {
                throw new UnsupportedOperationException();
            }
        };
        try {
            boolean isKnown = plugin.getCommand("shop").execute(sender, words[0], Arrays.copyOfRange(words, 1, words.length));
            if (!isKnown) server.print("said", "usage");
        } catch (RuntimeException problem) {
            server.print("thrown", problem.getMessage() + ": " + problem.getCause());
        }
    }

    private static void settle(CraftServer server) {
        try {
            for (Thread thread; (thread = threadOf(server)) != null; ) thread.join();
        } catch (InterruptedException ended) {
            return;
        }
        // A task may have queued another one.
        server.queue(() -> server.queue(() -> server.print("server", "settled")));
    }

    private static Thread threadOf(CraftServer server) {
        Thread[] threads = new Thread[64];
        int count = server.group.enumerate(threads);
        for (int at = 0; at < count; at++) if (threads[at].getName().equals("licet")) return threads[at];
        return null;
    }
}
