// Asks Licet whether a license key may run here. Go 1.18 or newer, no dependencies; see README.md.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"time"
)

type Program struct {
	URL            string
	ProductID      int
	ProductVersion string
	LicenseKey     string
	MarkFile       string // where the time of the last good answer is kept
	TimeoutSeconds int
	RetrySeconds   int
	GraceHours     int
}

type State int

const (
	Valid State = iota
	Grace
	Refused
	Unreachable
)

type Answer struct {
	State   State
	Message string // for the user to read
}

func (answer Answer) MayRun() bool { return answer.State == Valid || answer.State == Grace }

// Check takes up to 30 seconds: call it in a goroutine where something else has to go on.
func (program Program) Check() Answer {
	hwid := HardwareID()
	answer, pauseSeconds := program.ask(hwid)
	if answer.State == Unreachable && pauseSeconds <= 10 {
		time.Sleep(time.Duration(pauseSeconds) * time.Second)
		answer, _ = program.ask(hwid)
	}
	now := time.Now().Unix()
	switch answer.State {
	case Valid:
		_ = os.WriteFile(program.MarkFile, []byte(program.mark(now, hwid)), 0o600)
		return answer
	case Refused:
		_ = os.Remove(program.MarkFile)
		return answer
	}
	problem := "The license service cannot be reached (" + answer.Message + ")."
	content, _ := os.ReadFile(program.MarkFile)
	mark := strings.TrimSpace(string(content))
	seconds, _ := strconv.ParseInt(strings.Split(mark, " ")[0], 10, 64)
	left := float64(program.GraceHours) - math.Abs(float64(now-seconds))/3600
	if mark == program.mark(seconds, hwid) && left > 0 {
		return Answer{Grace, fmt.Sprintf("%s The last good answer counts for %.0f h more.", problem, math.Ceil(left))}
	}
	return Answer{Unreachable, problem + " Check the network connection and try again."}
}

// ask also returns after how many seconds to ask again, where the service cannot be reached.
func (program Program) ask(hwid string) (Answer, int) {
	body, _ := json.Marshal(map[string]any{
		"licenseKey": program.LicenseKey, "productId": program.ProductID, "hwid": hwid,
		"productVersion": program.ProductVersion, "operatingSystem": runtime.GOOS, "osArchitecture": runtime.GOARCH,
	})
	request, err := http.NewRequest("POST", program.URL+"/api/v1/validate", bytes.NewReader(body))
	if err != nil {
		return Answer{Unreachable, err.Error()}, program.RetrySeconds
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "licet-client/1")
	client := http.Client{
		Timeout: time.Duration(program.TimeoutSeconds) * time.Second,
		Transport: &http.Transport{
			Proxy:             http.ProxyFromEnvironment,
			DialContext:       (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			DisableKeepAlives: true, // else each question leaves an open connection
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{Unreachable, err.Error()}, program.RetrySeconds
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{Unreachable, err.Error()}, program.RetrySeconds
	}
	var said struct {
		Valid   *bool
		Message string
	}
	status := response.StatusCode
	if json.Unmarshal(text, &said) == nil && said.Valid != nil {
		if *said.Valid && status == 200 {
			return Answer{Valid, said.Message}, 0
		}
		if !*said.Valid && (status == 400 || status == 413) {
			return Answer{Refused, "License refused: " + said.Message}, 0
		}
	}
	retryAfter, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil {
		retryAfter = program.RetrySeconds
	}
	return Answer{Unreachable, fmt.Sprintf("HTTP %d", status)}, retryAfter
}

func (program Program) mark(seconds int64, hwid string) string {
	time := strconv.FormatInt(seconds, 10)
	return time + " " + hash(time, program.LicenseKey, strconv.Itoa(program.ProductID), hwid)
}

func HardwareID() string {
	machine, _ := os.ReadFile("/etc/machine-id")
	host, _ := os.Hostname()
	name := ""
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	return hash(strings.TrimSpace(string(machine)), host, name)
}

func hash(lines ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

// From here on: a program that tries it out, no part of yours.
func main() {
	url, key := os.Getenv("LICET_URL"), os.Getenv("LICET_KEY")
	product, err := strconv.Atoi(os.Getenv("LICET_PRODUCT_ID"))
	if url == "" || key == "" || err != nil {
		fmt.Fprintln(os.Stderr, "Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.")
		os.Exit(3)
	}
	program := Program{url, product, "1.0.0", key, "licet.mark", 10, 2, 72}
	if file := os.Getenv("LICET_MARK"); file != "" {
		program.MarkFile = file
	}
	if seconds, err := strconv.Atoi(os.Getenv("LICET_TIMEOUT_SECONDS")); err == nil {
		program.TimeoutSeconds = seconds
	}
	if seconds, err := strconv.Atoi(os.Getenv("LICET_RETRY_SECONDS")); err == nil {
		program.RetrySeconds = seconds
	}
	answer := program.Check()
	fmt.Println(answer.Message)
	os.Exit(map[State]int{Valid: 0, Grace: 0, Refused: 1, Unreachable: 2}[answer.State])
}
