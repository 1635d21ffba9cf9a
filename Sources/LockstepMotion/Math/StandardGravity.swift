/// Standard gravity: 1 g in m/s².
package let standardGravity = 9.80665
