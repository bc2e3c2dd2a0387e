//go:build !linux

package main

// planter is the program of TestPlanted, which needs the Linux sandbox.
func planter() {}
